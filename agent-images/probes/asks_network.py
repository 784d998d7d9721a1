"""Tries to reach the network and the metadata service, and goes on where it cannot."""

import socket

import wire

work = wire.start()
for address in (("1.1.1.1", 53), ("169.254.169.254", 80), ("172.17.0.1", 2375)):
    try:
        socket.create_connection(address, timeout=1).close()
        wire.note("reached %s" % address[0])
    except OSError as error:
        wire.note("%s: %s" % (address[0], error))
try:
    socket.getaddrinfo("example.com", 443)
    wire.note("resolved a name")
except OSError as error:
    wire.note("names: %s" % error)
wire.finish(wire.wanted(work))
