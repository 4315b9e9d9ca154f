import { resolve } from 'node:path';
import { VolleyError } from '../../core/errors.ts';
import { countText } from '../../core/words.ts';
import { copyStore } from '../../store/copy/copy-store.ts';
import { isPostgresAddress } from '../../store/open/load-store.ts';
import { EXIT, type Io } from '../output/io.ts';
import { numberText } from '../output/numbers.ts';
import { type CommonOptions, defineCommand } from '../program/command.ts';

/** How often progress is shown. */
const PROGRESS_MS = 2000;

export const storeCommand = defineCommand<CommonOptions>({
  examples: [
    'volley store copy .volley/volley.db postgres://volley@db.example.com/volley',
    'volley store copy postgres://volley@db.example.com/volley backup.db',
  ],
  declare: (program) =>
    program
      .addArgument(program.createArgument('<action>', 'what to do').choices(['copy']))
      .argument(
        '<from>',
        'the store to copy: a file, or an address postgres://…; nobody may write to it meanwhile',
      )
      .argument('<to>', 'where to: a file that does not exist, or an empty schema'),
  run: async ([, from, to], { json }, io) => {
    const onProgress = io.stderr.isTTY && json !== true ? progressLines(io) : undefined;
    const tables = await copyStore(placeOf(from!, io), placeOf(to!, io), onProgress && { onProgress });
    if (json) {
      io.stdout.writeJson({ ok: true, tables });
      return EXIT.ok;
    }
    const rows = tables.reduce((sum, table) => sum + table.rows, 0);
    const [batches, tasks] = tables.map((table) => table.rows);
    io.stdout.write(
      `Copied ${batches} ${batches === 1 ? 'batch' : 'batches'} with ${countText(tasks!, 'task')}: ${countText(rows, 'row')}, read again and compared.\n`,
    );
    return EXIT.ok;
  },
});

function placeOf(place: string, { cwd }: Io): string {
  if (!isPostgresAddress(place)) return resolve(cwd, place);
  const url = URL.canParse(place) ? new URL(place) : undefined;
  if (url !== undefined && (url.password !== '' || url.searchParams.has('password')))
    throw new VolleyError(
      'INVALID_VALUE',
      'Others can read the password in the address of a store. Set PGPASSWORD, or use ~/.pgpass.',
    );
  return place;
}

function progressLines({ stderr }: Io): (stage: string, table: string, rows: number) => void {
  let shownAt = performance.now();
  return (stage, table, rows) => {
    if (performance.now() - shownAt < PROGRESS_MS) return;
    shownAt = performance.now();
    stderr.write(`${stage} ${table}: ${numberText(rows)}\n`);
  };
}
