/** Adds the update of a worker's program, as JSON. */
export const workerMigrations: readonly string[] = ['ALTER TABLE workers ADD COLUMN program_update TEXT;'];
