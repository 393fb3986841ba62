"""What can be plugged?  One contract file per kind; no implementation, no import beyond model
and typing.
"""
