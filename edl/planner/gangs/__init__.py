"""Gangs: roles that start together, and the nodes on which their pods fit."""
