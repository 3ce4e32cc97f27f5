"""Worker processes of dask, which all tests of a run share."""

import pytest


@pytest.fixture(scope="session")
def dask_client():
    """Of two worker processes with a thread each, copies of one that has imported all they need."""
    dask = pytest.importorskip("dask")
    distributed = pytest.importorskip("distributed")
    settings = {
        "distributed.scheduler.allowed-failures": 10,
        "distributed.worker.multiprocessing-method": "forkserver",
    }
    with dask.config.set(settings):
        context = distributed.utils.get_mp_context()
        context.set_forkserver_preload(
            [
                *("distributed", "dask.dataframe"),
                *("nearkin.dask", "nearkin.learners.base", "nearkin.records.dask"),
            ]
        )
        with (
            distributed.LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
            ) as cluster,
            distributed.Client(cluster, set_as_default=False) as client,
        ):
            yield client
