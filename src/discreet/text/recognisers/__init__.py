"""The recognisers of direct identifiers, one file each; `discreet.text.direct.recognisers` is their register."""
