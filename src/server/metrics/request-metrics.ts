const NAME = 'volley_http_request_seconds';
const HELP = 'How long requests took, by route, method and status; streams until they ended.';
const BOUNDS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30];
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
const MAX_ROUTES = 100;

/** Bounds the values of a label: names beyond the first `max` count as `other`. */
export class BoundedNames {
  private readonly known = new Set<string>();

  constructor(private readonly max: number) {}

  /** The value of the label for a name; without `isNew`, one that was not seen before counts as `other`, too. */
  of(name: string, isNew = true): string {
    if (this.known.has(name)) return name;
    if (!isNew || this.known.size >= this.max) return 'other';
    this.known.add(name);
    return name;
  }
}

/** The requests of one route, method and status. */
interface Cell {
  readonly labels: string;
  /** Requests by the first bound that they did not exceed; the last count is of those that exceeded all. */
  readonly counts: number[];
  sum: number;
}

/**
 * How long requests took. Every request is counted here, so this is a histogram of our own: the one of prom-client makes
 * a string of the labels for each value, which takes longer than all checks of a request together.
 */
export class RequestMetrics {
  private readonly names = new BoundedNames(MAX_ROUTES);
  /** By route, then by status and method as one number. */
  private readonly routes = new Map<string, Map<number, Cell>>();

  ended(route: string, method: string, status: number, ms: number): void {
    const cell = this.cellOf(route, METHODS.indexOf(method), status);
    const seconds = ms / 1000;
    let at = 0;
    while (at < BOUNDS.length && seconds > BOUNDS[at]!) at++;
    cell.counts[at]!++;
    cell.sum += seconds;
  }

  /** In the form of Prometheus. */
  text(): string {
    const lines = [`# HELP ${NAME} ${HELP}`, `# TYPE ${NAME} histogram`];
    for (const cells of this.routes.values()) for (const cell of cells.values()) lines.push(...linesOf(cell));
    return `${lines.join('\n')}\n`;
  }

  private cellOf(given: string, method: number, status: number): Cell {
    const route = this.names.of(given);
    let cells = this.routes.get(route);
    if (cells === undefined) {
      cells = new Map();
      this.routes.set(route, cells);
    }
    const key = status * 8 + method;
    let cell = cells.get(key);
    if (cell === undefined) {
      // A client may write anything for the method. Routes are patterns of ours, which need no escapes.
      const labels = `route="${route}",method="${METHODS[method] ?? 'other'}",status="${status}"`;
      cell = { labels, counts: new Array(BOUNDS.length + 1).fill(0), sum: 0 };
      cells.set(key, cell);
    }
    return cell;
  }
}

function linesOf({ labels, counts, sum }: Cell): string[] {
  let total = 0;
  const buckets = [...BOUNDS, '+Inf'].map((bound, at) => {
    total += counts[at]!;
    return `${NAME}_bucket{le="${bound}",${labels}} ${total}`;
  });
  return [...buckets, `${NAME}_sum{${labels}} ${sum}`, `${NAME}_count{${labels}} ${total}`];
}
