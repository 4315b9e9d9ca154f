// Five kinds of work. Each says which tools a client needs for it, what its model does with the client's own calls, and
// what it writes for a program or a batch instead. A model is played by `own`: it sees the texts that a turn returned.

const filesIn = (listing) => [...listing.matchAll(/^\[FILE\] (.+)$/gm)].map(([, name]) => name);
const listed = (folder) => ({ name: 'list_directory', arguments: { path: folder } });
const read = (path) => ({ name: 'read_file', arguments: { path } });
const orders = (page) => ({ name: 'list_orders', arguments: { page } });
const customer = (id) => ({ name: 'get_customer', arguments: { id } });

const PAPERS = ['notes', 'reports'].flatMap((folder) =>
  ['01', '02', '03'].map((name) => `${folder}/${name}.md`),
);
const PAPER_LIST = `[${PAPERS.map((path) => `'${path}'`).join(', ')}]`;

/** Lists a folder and reads all of its files, in two turns. */
async function readFolder(turn, folder) {
  const [listing] = await turn([listed(folder)]);
  const names = filesIn(listing);
  const texts = await turn(names.map((name) => read(`${folder}/${name}`)));
  return { names, texts };
}

export const WORKS = [
  {
    kind: 'filter and reduce',
    prompt: 'Which of the notes in the folder notes are still open?',
    tools: ['list_directory', 'read_file'],
    own: async (turn) => {
      const { names, texts } = await readFolder(turn, 'notes');
      const open = names.filter((_, index) => texts[index].includes('State: open'));
      return open.map((name) => name.slice(0, 2)).join(' ');
    },
    program: `const {entries} = await tools.list_directory({path: 'notes'})
const notes = await Promise.all(entries.map(e => tools.read_file({path: e.path})))
return notes.filter(n => n.content.includes('State: open')).map(n => n.path.slice(6, 8)).join(' ')`,
    code: `const names = (await tools.list_directory({path: 'notes'})).content.match(/\\d+.md/g)
const notes = await Promise.all(names.map(n => tools.read_file({path: 'notes/' + n})))
return names.filter((n, i) => notes[i].content.includes('State: open')).map(n => n.slice(0, 2)).join(' ')`,
    batch: {
      tasks: [
        { id: 'list', function: 'list_directory', params: { path: 'notes' } },
        {
          id: 'note',
          for_each: 'list.entries',
          function: 'read_file',
          params: { path: '${item.path}' },
        },
      ],
      return: "note.filter(n => n.content.includes('State: open')).map(n => n.path.slice(6, 8)).join(' ')",
    },
    answer: (value) => `Still open: ${value}.`,
  },
  {
    kind: 'map over a list',
    prompt: 'Make a table of the reports: title and number of words.',
    tools: ['list_directory', 'read_file'],
    own: async (turn) => {
      const { texts } = await readFolder(turn, 'reports');
      return texts.map((text) => `${text.split('\n')[0].slice(2)} ${text.split(/\s+/).length}`);
    },
    program: `const {entries} = await tools.list_directory({path: 'reports'})
return parallel(entries, async e => {
  const {content} = await tools.read_file({path: e.path})
  return content.split('\\n')[0].slice(2) + ' ' + content.split(/\\s+/).length
})`,
    code: `const names = (await tools.list_directory({path: 'reports'})).content.match(/\\S+.md/g)
return Promise.all(names.map(async n => {
  const {content} = await tools.read_file({path: 'reports/' + n})
  return content.split('\\n')[0].slice(2) + ' ' + content.split(/\\s+/).length
}))`,
    batch: {
      tasks: [
        {
          id: 'report',
          for_each: { glob: 'reports/*.md' },
          function: 'read_file',
          params: { path: '${item}' },
        },
      ],
      return:
        "report.map(({content}) => content.split('\\n')[0].slice(2) + ' ' + content.split(/\\s+/).length)",
    },
    answer: (rows) => rows.join('\n'),
  },
  {
    kind: 'paginate',
    prompt: 'What is the total amount of all unpaid orders?',
    tools: ['list_orders', 'get_customer'],
    own: async (turn) => {
      let total = 0;
      for (let page = 1; page !== undefined; ) {
        const [text] = await turn([orders(page)]);
        const answer = JSON.parse(text);
        for (const { amount, paid } of answer.orders) if (!paid) total += amount;
        page = answer.next_page;
      }
      return total;
    },
    program: `let total = 0
for (let page = 1; page;) {
  const {data} = await tools.records.list_orders({page})
  for (const o of data.orders) if (!o.paid) total += o.amount
  page = data.next_page
}
return total`,
    code: `let total = 0
for (let page = 1; page;) {
  const data = await tools.list_orders({page})
  for (const o of data.orders) if (!o.paid) total += o.amount
  page = data.next_page
}
return total`,
    batch: {
      tasks: [
        {
          id: 'page',
          repeat: { until: '!result.data.next_page' },
          function: 'records.list_orders',
          params: { page: { $expr: 'last?.data.next_page ?? 1' } },
        },
      ],
      return: 'page.flatMap(p => p.data.orders).filter(o => !o.paid).reduce((sum, o) => sum + o.amount, 0)',
    },
    answer: (total) => `They amount to ${total}.`,
  },
  {
    kind: 'fan out and join',
    prompt: 'What do customers of each country owe us for orders of the first page?',
    tools: ['list_orders', 'get_customer'],
    own: async (turn) => {
      const [text] = await turn([orders(1)]);
      const unpaid = JSON.parse(text).orders.filter(({ paid }) => !paid);
      const texts = await turn(unpaid.map((order) => customer(order.customer)));
      const owed = {};
      for (const [index, { amount }] of unpaid.entries()) {
        const { country } = JSON.parse(texts[index]);
        owed[country] = (owed[country] ?? 0) + amount;
      }
      return owed;
    },
    program: `const {data} = await tools.records.list_orders({})
const owed = {}
await parallel(data.orders.filter(o => !o.paid), async o => {
  const {country} = (await tools.records.get_customer({id: o.customer})).data
  owed[country] = (owed[country] ?? 0) + o.amount
})
return owed`,
    code: `const data = await tools.list_orders({})
const owed = {}
await Promise.all(data.orders.filter(o => !o.paid).map(async o => {
  const {country} = await tools.get_customer({id: o.customer})
  owed[country] = (owed[country] ?? 0) + o.amount
}))
return owed`,
    batch: {
      tasks: [
        { id: 'page', function: 'records.list_orders' },
        {
          id: 'customer',
          for_each: 'page.data.orders.filter(o => !o.paid)',
          function: 'records.get_customer',
          params: { id: '${item.customer}' },
        },
      ],
      return:
        'page.data.orders.filter(o => !o.paid).reduce((owed, o, i) => { const {country} = customer[i].data; owed[country] = (owed[country] ?? 0) + o.amount; return owed }, {})',
    },
    answer: (owed) =>
      Object.entries(owed)
        .sort()
        .map(([country, amount]) => `${country} ${amount}`)
        .join(', '),
  },
  {
    kind: 'independent calls',
    prompt: 'Compare notes 01, 02 and 03 with reports 01, 02 and 03.',
    tools: ['list_directory', 'read_file'],
    own: async (turn) => {
      await turn(PAPERS.map(read));
    },
    program: `return parallel(${PAPER_LIST}, async path => (await tools.read_file({path})).content)`,
    code: `return Promise.all(${PAPER_LIST}.map(async path => (await tools.read_file({path})).content))`,
    batch: { tasks: PAPERS.map((path) => ({ function: 'read_file', params: { path } })) },
    answer: () => 'They differ in what they say.',
  },
];
