"""The recognisers of direct identifiers, one file each; `discreet.text.direct.detect.recognisers` is their register."""
