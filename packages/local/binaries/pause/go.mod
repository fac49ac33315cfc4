module podloom.local/pause

go 1.26
