import numpy as np
import pytest

from nearkin import datasets
from nearkin.tables.reading import Column

KINDS = {"postcode": "code", "born": "code", "phone": "code"}


def columns_of_people(n, seed, **options):
    table, person = datasets.make_records(n, random_state=seed, **options)
    return [Column(c, KINDS.get(c, "name"), v) for c, v in table.items()], person


def words(name, values, kind="name"):
    return Column(name, kind, np.array(values, dtype=object))


@pytest.fixture(scope="session")
def people():
    return columns_of_people(300, 0)
