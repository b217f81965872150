"""What users of one namespace are told of the queue: values, nothing is written here."""
