import { DatabaseSync } from '@photostructure/sqlite';

/** Changes a file behind the back of the store. */
export function change(file: string, sql: string): void {
  const connection = new DatabaseSync(file, { timeout: 5000 });
  connection.exec(sql);
  connection.close();
}

/** Keeps everybody else from writing until it is called. */
export function lockForWriting(file: string): () => void {
  const connection = new DatabaseSync(file, { timeout: 5000 });
  connection.exec('BEGIN IMMEDIATE');
  return () => {
    connection.exec('ROLLBACK');
    connection.close();
  };
}
