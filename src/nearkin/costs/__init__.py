"""What a job will cost: time, memory and passes over the data, before it is begun.

``formulas`` says how the work of each learner grows, ``trial_runs`` runs it at a few small sizes in
a process of its own, ``fitting`` finds what the parts of the formula cost on this machine, and
``estimates`` puts that together. ``kept`` remembers it for the next time, ``clusters`` shares the
work among workers.
"""
