"""The known revisions, a module for each kind. `catalogue_list` puts them in order."""
