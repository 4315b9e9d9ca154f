import { Histogram, type Registry } from 'prom-client';
import { BoundedNames } from './labels.ts';

const SPANS = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30];
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);
const MOST_ROUTES = 100;

/** How long requests took. */
export class RequestMetrics {
  private readonly routes = new BoundedNames(MOST_ROUTES);
  private readonly spans: Histogram<'route' | 'method' | 'status'>;

  constructor(registry: Registry) {
    this.spans = new Histogram({
      name: 'volley_http_request_seconds',
      help: 'How long requests took, by route, method and status; streams until they ended.',
      labelNames: ['route', 'method', 'status'],
      buckets: SPANS,
      registers: [registry],
    });
  }

  ended(route: string, method: string, status: number, ms: number): void {
    const labels = {
      route: this.routes.of(route),
      // A client may write anything there.
      method: METHODS.has(method) ? method : 'other',
      status: String(status),
    };
    this.spans.observe(labels, ms / 1000);
  }
}
