"""The JSON-RPC protocol: a type for everything, one declaration a method. Pure.

One module a noun: its parameters, its results, and its methods. From these are made the checks of
what clients send, the answers, the OpenRPC document (``document``), and the types of clients.
"""
