alter table state rename column sessions to present
