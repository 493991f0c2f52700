create index entry_kind on entry (kind, seq) where kind <> 'decision';
create index entry_chain_kind on entry (chain, kind, seq) where kind <> 'decision';
