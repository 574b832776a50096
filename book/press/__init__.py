"""What turns executed notebooks into a checked site."""
