"""The typed specification of a labelled Job or pod, and the names that follow from it."""
