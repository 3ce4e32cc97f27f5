"""Teaching a metric by answers to "same or different?": data, history, learning, pictures.

:class:`nearkin.teaching.lesson.Lesson` is the whole of it. Nothing here knows of pages or servers.
"""
