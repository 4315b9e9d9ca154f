import { Counter, Gauge, type Registry } from 'prom-client';
import type { HubCounts } from '../events/event-hub.ts';

/** What live events have done, asked for when somebody reads it. */
export function addEventMetrics(counts: () => HubCounts, registry: Registry): void {
  const registers = [registry];
  const counter = (name: string, help: string, pick: (counts: HubCounts) => number) =>
    new Counter({
      name,
      help,
      registers,
      collect() {
        this.reset();
        this.inc(pick(counts()));
      },
    });
  const gauge = (name: string, help: string, pick: (counts: HubCounts) => number) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(pick(counts()));
      },
    });
  counter('volley_events_total', 'Events that were published.', ({ events }) => events);
  counter('volley_event_streams_opened_total', 'Streams that were opened.', ({ opened }) => opened);
  counter(
    'volley_event_streams_resumed_total',
    'Streams that went on from the log.',
    ({ resumed }) => resumed,
  );
  counter(
    'volley_event_streams_stalled_total',
    'Streams that were cut because nobody read them.',
    ({ stalled }) => stalled,
  );
  counter(
    'volley_event_gaps_total',
    'How often a client was told that events are gone, and given a snapshot.',
    ({ gaps }) => gaps,
  );
  gauge('volley_event_subscribers', 'Streams that are open.', ({ subscribers }) => subscribers);
  gauge('volley_event_lag', 'By how many events the slowest client is behind.', ({ lag }) => lag);
}
