"""A simulated phone: a client of the phone protocol that is as strict as the apps are.

``model`` is the phone itself, without sockets: what its app would keep, show, speak and send, and
every frame that the app would drop or misread. ``link`` puts it on a WebSocket,
``tests.phone.driver`` into the hands of a scenario.
"""
