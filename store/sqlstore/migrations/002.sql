create table aside (
	seq INT primary key,
	time INT not null,
	body BYTES not null
);
create index aside_time on aside (time);
