"""What operators see of campaigns, and what they are told before they act; nothing here changes a campaign."""
