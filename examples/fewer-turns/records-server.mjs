// An MCP server with orders in pages and the customers who placed them.
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';

const PAGES = 8;
const PER_PAGE = 80;
const COUNTRIES = ['Norway', 'Chile', 'Kenya', 'Japan'];

const orders = Array.from({ length: PAGES * PER_PAGE }, (_, index) => ({
  id: 1000 + index,
  customer: `c${(index * 7) % 200}`,
  amount: 10 + ((index * 37) % 90),
  paid: index % 2 === 1,
}));

function listOrders({ page = 1 }) {
  const last = page * PER_PAGE;
  return {
    orders: orders.slice(last - PER_PAGE, last),
    ...(last < orders.length && { next_page: page + 1 }),
  };
}

function getCustomer({ id }) {
  const number = Number(id.slice(1));
  return {
    id,
    name: `Customer ${number}`,
    country: COUNTRIES[number % COUNTRIES.length],
    since: `20${String(number % 25).padStart(2, '0')}-03-01`,
    address: { street: `${number} Long Street`, town: 'Some Town', postal_code: String(10_000 + number) },
    contact: {
      name: `Person ${number}`,
      email: `person.${number}@customer-${number}.example`,
      phone: `+1 555 ${1000 + number}`,
    },
    terms: 'Pays within 30 days of the invoice. Wants deliveries in the morning.',
  };
}

const server = new McpServer({ name: 'records', version: '1.0.0' });
const input = (properties, required = []) => fromJsonSchema({ type: 'object', properties, required });
const answer = (value) => ({
  content: [{ type: 'text', text: JSON.stringify(value) }],
  structuredContent: value,
});

server.registerTool(
  'list_orders',
  {
    description: 'Lists orders, a page at a time.',
    inputSchema: input({ page: { type: 'number' } }),
    annotations: { readOnlyHint: true },
  },
  (given) => answer(listOrders(given)),
);
server.registerTool(
  'get_customer',
  {
    description: 'Returns a customer by id.',
    inputSchema: input({ id: { type: 'string' } }, ['id']),
    annotations: { readOnlyHint: true },
  },
  (given) => answer(getCustomer(given)),
);
await server.connect(new StdioServerTransport());
