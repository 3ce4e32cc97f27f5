"""The studio's server: a page in a browser that teaches a metric (needs the extra "studio").

Everything that is asked and learned is in :mod:`nearkin.studio`; here is how it gets to the page
and back.
"""
