"""Built-in taggers, one class of attribute a file; the registry imports them all."""
