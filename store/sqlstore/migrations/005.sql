create index entry_unusual on entry (outcome, seq) where outcome <> 'allow';
drop index entry_outcome
