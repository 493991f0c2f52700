create table ending (
	n INT primary key,
	body BYTES not null
);
alter table state add column ends BYTES not null default '';
alter table state rename column seal to sealed
