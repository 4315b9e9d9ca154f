const ROWS = Array.from({ length: 12 }, (_, index) => index);

/** Calls over three servers (`fs`, `memory`, `everything`) that use each other's results. */
export function fiftyCalls() {
  return [
    ...ROWS.map((row) => ({ id: `sum-${row}`, function: 'everything.get-sum', params: { a: row, b: 100 } })),
    ...ROWS.map((row) => ({
      id: `write-${row}`,
      function: 'fs.write_file',
      params: { path: `row-${row}.txt`, content: `${'${'}sum-${row}.text}` },
    })),
    ...ROWS.map((row) => ({
      id: `read-${row}`,
      function: 'fs.read_text_file',
      params: { path: `row-${row}.txt` },
      depends_on: [`write-${row}`],
    })),
    ...ROWS.map((row) => ({
      id: `note-${row}`,
      function: 'memory.create_entities',
      params: {
        entities: [
          {
            name: `row ${row}`,
            entityType: 'row',
            observations: [{ $from: `read-${row}`, path: '/data/content' }],
          },
        ],
      },
    })),
    { id: 'graph', function: 'memory.read_graph', params: {}, depends_on: ROWS.map((row) => `note-${row}`) },
    { id: 'echo', function: 'everything.echo', params: { message: '${graph.data.entities.0.entityType}' } },
  ];
}
