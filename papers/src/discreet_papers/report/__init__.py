"""Records of reruns to summaries; `discreet.report` shows them."""
