create table state (
	id INT primary key check (id = 1),
	size INT not null,
	edge BYTES not null,
	sessions INT not null
);
insert into state (id, size, edge, sessions) values (1, 0, '', 0);

create table session (
	key TEXT primary key,
	parent TEXT not null,
	principal TEXT not null,
	label TEXT not null,
	calls INT not null,
	created INT not null,
	seen INT not null,
	height INT not null
);
create index session_parent on session (parent) where parent <> '';
create index session_created on session (created, key);
create index session_seen on session (seen);

create table question (
	id TEXT primary key,
	principal TEXT not null,
	session TEXT not null,
	binding TEXT not null,
	body BYTES not null,
	answer TEXT not null,
	asked INT not null,
	expires INT not null
);
create index question_binding on question (binding);
create index question_expires on question (expires);

create table pin (
	scope TEXT not null,
	name TEXT not null,
	digest TEXT not null,
	body BYTES not null,
	accepted_by TEXT not null,
	pinned INT not null,
	primary key (scope, name)
);

create table taint (
	resource TEXT primary key,
	label TEXT not null,
	written INT not null,
	expires INT not null
);
create index taint_expires on taint (expires) where expires > 0;

create table entry (
	seq INT primary key,
	leaf BYTES not null,
	salt BYTES not null,
	time INT not null,
	chain TEXT not null,
	kind TEXT not null,
	subject TEXT not null,
	outcome TEXT not null,
	body BYTES not null
);
create index entry_chain on entry (chain, seq);
create index entry_subject on entry (subject, seq);
create index entry_outcome on entry (outcome, seq);

create table node (
	level INT not null,
	n INT not null,
	hash BYTES not null,
	primary key (level, n)
);

create table chain (
	name TEXT primary key,
	id TEXT not null,
	next INT not null,
	last BYTES not null
);

create table checkpoint (
	size INT primary key,
	note BYTES not null
);
