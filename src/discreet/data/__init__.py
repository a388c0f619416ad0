"""Sources to typed tables: answers to judge, labelled answers to evaluate on."""
