-- Values that are kept with agent sessions, sealed: hidden results, and the bits that looks have told of them.
create table hidden (
	id TEXT primary key,
	principal TEXT not null,
	session TEXT not null,
	label TEXT not null,
	note TEXT not null,
	digest TEXT not null,
	size INT not null,
	kept INT not null,
	body BYTES not null
);
create index hidden_session on hidden (session);
