"""Why pods fit on no node: messages of refused gangs, single pods and placement constraints."""
