"""The admission webhook: AdmissionReview in, JSONPatch out. `edl.inject` makes the decisions."""
