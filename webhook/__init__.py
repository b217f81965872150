"""The admission webhook: AdmissionReview in, JSONPatch out. `edl.inject` decides, not we."""
