"""The phone protocol, versions 0.5.0 and 0.4.0, with shapes that older phones can read too.

``docs/protocol.md`` has the rules; each has its number and its test.
"""
