import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { say } from '../../cli/support/program.ts';
import { FeatureProject } from './feature-project.ts';

/**
 * An agent whose account allows so many calls, then none for two seconds, then as many as wanted. It says so in the
 * words of Codex, and notes each call: `started`, then `ok` or `refused`, its subtask and the time in milliseconds.
 */
const AGENT = `
cat > /dev/null
account=$1; most=$2; dir=$VOLLEY_TASKS_PROJECT/.volley
note() { echo "$account $1 $VOLLEY_SUBTASK $(date +%s%3N)" >> "$dir/calls"; }
refuse() {
  note refused
  echo "You've hit your usage limit. Upgrade to Pro or try again in $1 seconds." >&2
  exit 1
}
note started
until=$(cat "$dir/$account.until" 2>/dev/null || echo 0)
now=$(date +%s)
if [ "$now" -lt "$until" ]; then refuse $((until - now)); fi
echo x >> "$dir/$account.used"
if [ "$until" -eq 0 ] && [ "$(wc -l < "$dir/$account.used")" -gt "$most" ]; then
  echo $((now + 2)) > "$dir/$account.until"
  refuse 2
fi
mkdir -p out && echo done > "out/$VOLLEY_SUBTASK"
note ok
`;

interface Call {
  readonly agent: string;
  readonly end: string;
  readonly seq: string;
  readonly at: number;
}

function drill(count: number, agentOf: (index: number) => string, table: string): FeatureProject {
  const seqs = Array.from({ length: count }, (_, index) => String(index + 1).padStart(2, '0'));
  const project = new FeatureProject(
    Object.fromEntries(
      seqs.map((seq, index) => [
        seq,
        { suggested_agent: agentOf(index), deliverables: [`out/${seq}`], parallel: true },
      ]),
    ),
  );
  project.put('agent.sh', AGENT);
  const agent = (name: string, most: number) =>
    `[tasks.agents.${name}]\ncommand = ["/bin/sh", ${JSON.stringify(join(project.folder, 'agent.sh'))}, "${name}", "${most}"]\n`;
  project.put(
    'volley.toml',
    `[tasks]\nagent = "one"\nmax_retries = 0\n${agent('one', 8)}\n${agent('two', 1000)}\n${table}`,
  );
  return project;
}

function callsOf(project: FeatureProject): Call[] {
  return readFileSync(join(project.folder, '.volley/calls'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => {
      const [agent, end, seq, at] = line.split(' ') as [string, string, string, string];
      return { agent, end, seq, at: Number(at) };
    });
}

function runTasks({ folder }: FeatureProject, maxConcurrent: number) {
  const words = ['tasks', 'run', 'auth', '--max-concurrent', String(maxConcurrent), '--json'];
  return say(folder, words, '', undefined, { PATH: process.env['PATH']! });
}

describe('an agent whose account reaches its limit', { timeout: 180_000 }, () => {
  it('pauses in the middle of 50 subtasks, the other goes on, and none fails because of it', async () => {
    const project = drill(50, (index) => (index % 2 === 0 ? 'one' : 'two'), '');
    const { status, stdout, stderr } = await runTasks(project, 4);
    expect([status, stderr]).toEqual([0, expect.any(String)]);
    const report = JSON.parse(stdout);
    expect(report.statistics).toMatchObject({ total: 50, completed: 50, failed: 0, attempts: 50 });
    const calls = callsOf(project);
    const refused = calls.filter(({ end }) => end === 'refused');
    expect(refused.length).toBeGreaterThan(0);
    const reports: { readonly reason: string | null }[] = report.history.attempts;
    expect(reports.filter(({ reason }) => reason === 'limit')).toHaveLength(refused.length);
    // At most those that ran at once, and a probe that came too early by a rounded second.
    expect(refused.length).toBeLessThanOrEqual(6);
    const pausedAt = refused[0]!.at;
    // A subtask that was refused is done by the same agent, after the reset.
    const resumed = calls.find(
      ({ agent, end, seq }) => agent === 'one' && end === 'ok' && refused.some((call) => call.seq === seq),
    )!;
    expect(resumed.at - pausedAt).toBeGreaterThanOrEqual(1000);
    const meanwhile = calls.filter(
      ({ agent, end, at }) => agent === 'two' && end === 'started' && at > pausedAt && at < resumed.at,
    );
    expect(meanwhile.length).toBeGreaterThan(0);
  });

  it('is replaced by the next of its list meanwhile', async () => {
    const project = drill(16, () => 'both', '[tasks.agents.both]\nagents = ["one", "two"]\n');
    const { status, stdout } = await runTasks(project, 3);
    expect(status).toBe(0);
    expect(JSON.parse(stdout).statistics).toMatchObject({ completed: 16, failed: 0, attempts: 16 });
    const calls = callsOf(project);
    const refused = calls.findIndex(({ end }) => end === 'refused');
    expect(calls[refused]).toMatchObject({ agent: 'one' });
    expect(calls.slice(0, refused).filter(({ agent }) => agent !== 'one')).toEqual([]);
    expect(calls.some(({ agent, end }) => agent === 'two' && end === 'ok')).toBe(true);
  });

  it('does not hide from the next attempt why the work failed before', async () => {
    const project = new FeatureProject({ '01': { deliverables: ['out'] } });
    project.put(
      'agent.sh',
      `n=$(cat "$VOLLEY_TASKS_PROJECT/.volley/n" 2>/dev/null || echo 0)
echo $((n + 1)) > "$VOLLEY_TASKS_PROJECT/.volley/n"
cat > "$VOLLEY_TASKS_PROJECT/.volley/prompt-$n"
if [ "$n" -eq 1 ]; then echo "You've hit your usage limit. Try again in 0 seconds." >&2; exit 1; fi
if [ "$n" -eq 2 ]; then echo done > out; fi
`,
    );
    const command = ['/bin/sh', join(project.folder, 'agent.sh')];
    project.put(
      'volley.toml',
      `[tasks]\nagent = "one"\nmax_retries = 1\n[tasks.agents.one]\ncommand = ${JSON.stringify(command)}\n`,
    );
    const { status } = await runTasks(project, 1);
    expect(status).toBe(0);
    const [failed, interrupted] = [1, 2].map((n) => evidenceIn(project, n));
    expect(failed).toHaveLength(1);
    expect(interrupted!.slice(0, 1)).toEqual(failed);
    expect(interrupted!.join()).not.toContain("You've hit");
  });
});

/** What a prompt says of the attempt before. */
function evidenceIn({ folder }: FeatureProject, prompt: number): string[] {
  const text = readFileSync(join(folder, `.volley/prompt-${prompt}`), 'utf8');
  const [, section = ''] = text.split(/The previous attempt failed.*\n\n/);
  return section.split('\n\n')[0]!.split('\n');
}
