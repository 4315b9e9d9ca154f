/** Three small tools that take records in and give records back. They change nothing: `readOnly`. */

import { defineTool } from 'volley';
import { z } from 'zod';

const records = z.array(z.record(z.string(), z.string()));

export const parseCsv = defineTool({
  name: 'parse_csv',
  description: 'Records from simple CSV: the first line has the names, no quotes.',
  input: z.object({ text: z.string() }),
  readOnly: true,
  run: ({ text }) => {
    const [names, ...rows] = text
      .trim()
      .split('\n')
      .map((line) => line.split(','));
    const records = rows.map((row) =>
      Object.fromEntries(names.map((name, index) => [name, row[index] ?? ''])),
    );
    return { count: records.length, records };
  },
});

export const joinRecords = defineTool({
  name: 'join_records',
  description: 'Adds to each record on the left what the record on the right with the same key says.',
  input: z.object({ left: records, right: records, on: z.string() }),
  readOnly: true,
  run: ({ left, right, on }) => {
    const byKey = new Map(right.map((record) => [record[on], record]));
    return { records: left.map((record) => ({ ...byKey.get(record[on]), ...record })) };
  },
});

export const sumBy = defineTool({
  name: 'sum_by',
  description: 'The sum of a field for each value of another, the largest first.',
  input: z.object({ records, by: z.string(), field: z.string() }),
  readOnly: true,
  run: ({ records, by, field }) => {
    const sums = new Map();
    for (const record of records) sums.set(record[by], (sums.get(record[by]) ?? 0) + Number(record[field]));
    return {
      sums: [...sums].map(([key, sum]) => ({ [by]: key, [field]: sum })).sort((a, b) => b[field] - a[field]),
    };
  },
});
