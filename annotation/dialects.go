package annotation

// dialects returns all dialects, in the order in which they are written.
func dialects() []dialect {
	return []dialect{
		mcp(), sep1913(), sep1913Draft(), sep2061(), sep1487(), sep1560(), sep1561(), sep1984(),
		trustAnnotations(), actionMetadata(), ifc(), ifcReaders(), organization(), own(),
	}
}
