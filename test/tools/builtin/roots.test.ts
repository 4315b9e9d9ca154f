import { execFileSync, spawn } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { listDirectoryTool } from '../../../src/tools/builtin/list-directory.ts';
import { readFileTool } from '../../../src/tools/builtin/read-file.ts';
import { Roots, type Verification } from '../../../src/tools/builtin/roots.ts';
import { searchFilesTool } from '../../../src/tools/builtin/search-files.ts';
import { writeFileTool } from '../../../src/tools/builtin/write-file.ts';
import { call, environment, folder, REFUSED_PATH } from './support/file-tools.ts';

const SECRET = 'TOP-SECRET';

/** A root with a file and a folder, and a secret outside it. */
function world() {
  const base = folder();
  const [root, outside] = [join(base, 'root'), join(base, 'outside')];
  for (const path of [root, outside, join(root, 'sub')]) mkdirSync(path);
  writeFileSync(join(root, 'sub', 'a.txt'), 'public');
  writeFileSync(join(outside, 'a.txt'), SECRET);
  return { root, outside };
}

function toolsOf(root: string, roots?: Roots) {
  const settings = environment([root]);
  return {
    read: (path: string) => call(readFileTool(settings, roots), { path }),
    write: (path: string) =>
      call(writeFileTool(settings, roots), { path, content: 'x', create_directories: true }),
    list: (path: string) => call(listDirectoryTool(settings, roots), { path, recursive: true }),
    search: (path: string) => call(searchFilesTool(settings, roots), { path, text: SECRET }),
  };
}

it('a refusal names the roots and the setting', async () => {
  const { root, outside } = world();
  const message = (roots: Roots) => {
    try {
      return roots.place('/etc/passwd');
    } catch (error) {
      return (error as Error).message;
    }
  };
  expect(message(new Roots([root, outside]))).toContain(
    `outside the roots ("${root}", "${outside}"); to add a root, set tools.roots`,
  );
  expect(message(new Roots([process.cwd(), join(process.cwd(), 'src')]))).toContain('(".", "src")');
  expect(message(new Roots([1, 2, 3, 4, 5].map((number) => join(root, String(number)))))).toContain(
    'and 2 more)',
  );
});

describe.each<Verification>(['descriptor', 'path'])(
  'a path outside the roots, verified by %s',
  (verification) => {
    const refusedByAll = async (root: string, path: string) => {
      const tools = toolsOf(root, new Roots([root], verification));
      for (const tool of Object.values(tools)) await expect(tool(path)).rejects.toMatchObject(REFUSED_PATH);
    };

    it.each([
      ['..', '..'],
      ['.. and back down', '../outside/a.txt'],
      ['.. behind a folder', 'sub/../../outside/a.txt'],
      ['a folder whose name begins like the root', '../root2'],
      ['an absolute path', '/etc/passwd'],
      ['the root of all', '/'],
      ['/proc/self', '/proc/self/environ'],
      ['/proc/self/cwd', '/proc/self/cwd/a.txt'],
      ['/proc/self/root', '/proc/self/root/etc/passwd'],
      ['/dev', '/dev/null'],
      ['a NUL character', 'sub/a.txt\0.png'],
      ['a name that is too long', `sub/${'x'.repeat(256)}`],
      ['a name of too many bytes', `sub/${'€'.repeat(100)}`],
    ])('is refused: %s', async (_, path) => {
      const { root, outside } = world();
      await refusedByAll(root, path);
      expect(readdirSync(outside)).toEqual(['a.txt']);
      expect(readFileSync(join(outside, 'a.txt'), 'utf8')).toBe(SECRET);
    });

    it('is refused: a symbolic link to a file outside', async () => {
      const { root, outside } = world();
      symlinkSync(join(outside, 'a.txt'), join(root, 'link.txt'));
      await refusedByAll(root, 'link.txt');
      expect(readFileSync(join(outside, 'a.txt'), 'utf8')).toBe(SECRET);
    });

    it('is refused: a symbolic link to a folder outside, itself and as a part of the way', async () => {
      const { root, outside } = world();
      symlinkSync(outside, join(root, 'link'));
      symlinkSync('link', join(root, 'link-to-link'));
      for (const path of ['link', 'link/a.txt', 'link-to-link', 'link-to-link/a.txt'])
        await refusedByAll(root, path);
      const { write } = toolsOf(root, new Roots([root], verification));
      for (const path of ['link/new.txt', 'link/new/new.txt']) {
        await expect(write(path)).rejects.toMatchObject(REFUSED_PATH);
      }
      expect(readdirSync(outside)).toEqual(['a.txt']);
    });

    it('is refused for writing: a symbolic link that leads nowhere', async () => {
      const { root, outside } = world();
      symlinkSync(join(outside, 'new.txt'), join(root, 'link.txt'));
      await expect(toolsOf(root).write('link.txt')).rejects.toMatchObject(REFUSED_PATH);
      expect(readdirSync(outside)).toEqual(['a.txt']);
    });

    it('is refused although it is inside: what belongs to the system', async () => {
      const { read } = toolsOf('/', new Roots(['/'], verification));
      for (const path of ['/proc/self/environ', '/proc/version', '/sys/kernel/uevent_seqnum', '/dev/null']) {
        await expect(read(path)).rejects.toMatchObject(REFUSED_PATH);
      }
    });

    it('is not entered by a listing or a search', async () => {
      const { root, outside } = world();
      symlinkSync(outside, join(root, 'link'));
      symlinkSync(join(outside, 'a.txt'), join(root, 'link.txt'));
      const { list, search } = toolsOf(root, new Roots([root], verification));
      expect((await list('.')).entries).toEqual([
        { path: 'link', type: 'symlink' },
        { path: 'link.txt', type: 'symlink' },
        { path: 'sub', type: 'directory' },
        { path: 'sub/a.txt', type: 'file', size: 6 },
      ]);
      expect((await search('.')).matches).toEqual([]);
    });

    it('is refused: a pipe and a socket, without waiting for their other end', async () => {
      const { root } = world();
      execFileSync('/bin/sh', ['-c', 'mkfifo "$0"', join(root, 'pipe')]);
      const server = createServer();
      await new Promise<void>((resolve) => server.listen(join(root, 'socket'), resolve));
      onTestFinished(() => void server.close());
      const { read, write } = toolsOf(root, new Roots([root], verification));
      for (const path of ['pipe', 'socket']) {
        await expect(read(path)).rejects.toMatchObject(REFUSED_PATH);
        await expect(write(path)).rejects.toMatchObject(REFUSED_PATH);
      }
    });

    /** Does something between the check of a path and its opening. */
    class Swapping extends Roots {
      swap: (() => void) | undefined;
      override open(path: string, flags: number, named: string): Promise<FileHandle> {
        this.swap?.();
        this.swap = undefined;
        return super.open(path, flags, named);
      }
    }

    it.each([
      ['the file', ['sub', 'a.txt'], ['a.txt']],
      ['its folder', ['sub'], []],
    ])('is refused after the check too: %s becomes a link to the outside', async (_, inside, target) => {
      for (const name of ['read', 'write', 'list', 'search'] as const) {
        const { root, outside } = world();
        const roots = new Swapping([root], verification);
        roots.swap = () => {
          renameSync(join(root, ...inside), join(root, 'moved'));
          symlinkSync(join(outside, ...target), join(root, ...inside));
        };
        const path = name === 'list' || name === 'search' ? 'sub' : 'sub/a.txt';
        const answer = await toolsOf(root, roots)
          [name](path)
          .catch((error: Error) => error);
        expect(JSON.stringify(answer)).not.toContain(SECRET);
        expect(readFileSync(join(outside, 'a.txt'), 'utf8')).toBe(SECRET);
        expect(readdirSync(outside)).toEqual(['a.txt']);
      }
    });
  },
);

describe('a root inside another one', () => {
  /** Two roots, the second of which stands in the first, and a secret outside both. */
  function nested(verification: Verification) {
    const { root, outside } = world();
    const inner = join(root, 'sub');
    return { root, outside, inner, tools: toolsOf(root, new Roots([root, inner], verification)) };
  }

  it.each<Verification>(['descriptor', 'path'])(
    'leads nowhere when it has become a link to the outside, verified by %s',
    async (verification) => {
      const { root, outside, inner, tools } = nested(verification);
      expect(await tools.read('sub/a.txt')).toMatchObject({ content: 'public' });
      renameSync(inner, join(root, 'moved'));
      symlinkSync(outside, inner);
      for (const tool of Object.values(tools)) {
        for (const path of ['sub', 'sub/a.txt', join(inner, 'a.txt'), join(outside, 'a.txt')])
          await expect(tool(path)).rejects.toMatchObject(REFUSED_PATH);
      }
      expect(readFileSync(join(outside, 'a.txt'), 'utf8')).toBe(SECRET);
      expect(readdirSync(outside)).toEqual(['a.txt']);
    },
  );

  it('is as before when it was a link from the start', async () => {
    const { root, outside } = world();
    symlinkSync(outside, join(root, 'link'));
    const { read } = toolsOf(root, new Roots([root, join(root, 'link')]));
    expect(await read('link/a.txt')).toMatchObject({ content: SECRET });
  });
});

describe('a root that is replaced by another folder', () => {
  it('is refused until the next start', async () => {
    const { root } = world();
    const { read } = toolsOf(root, new Roots([root]));
    renameSync(root, `${root}-moved`);
    mkdirSync(root);
    writeFileSync(join(root, 'b.txt'), 'new');
    await expect(read('b.txt')).rejects.toMatchObject({ ...REFUSED_PATH, details: { replacedRoot: root } });
    expect(await toolsOf(root).read('b.txt')).toMatchObject({ content: 'new' });
  });

  it('is not found later where there was nothing at the start', async () => {
    const { root, outside } = world();
    const { read } = toolsOf(root, new Roots([root, join(root, 'later')]));
    symlinkSync(outside, join(root, 'later'));
    await expect(read('later/a.txt')).rejects.toMatchObject(REFUSED_PATH);
  });
});

describe('a write', () => {
  it('stays in the folder that was opened when another takes its path', async () => {
    const { root, outside } = world();
    class SwapAtFile extends Roots {
      override async open(path: string, flags: number, named: string): Promise<FileHandle> {
        // The second thing that is opened is the temporary file.
        if (path.includes('.volley-') && existsSync(join(root, 'sub'))) {
          renameSync(join(root, 'sub'), join(root, 'moved'));
          symlinkSync(outside, join(root, 'sub'));
        }
        return super.open(path, flags, named);
      }
    }
    await toolsOf(root, new SwapAtFile([root])).write('sub/a.txt');
    expect(readFileSync(join(outside, 'a.txt'), 'utf8')).toBe(SECRET);
    expect(readFileSync(join(root, 'moved', 'a.txt'), 'utf8')).toBe('x');
    expect(readdirSync(outside)).toEqual(['a.txt']);
  });
});

describe('a link that is swapped all the time', () => {
  it.each<Verification>(['descriptor', 'path'])(
    'never shows what is outside, verified by %s',
    async (verification) => {
      const { root, outside } = world();
      writeFileSync(join(root, 'go'), '');
      const script = `
      cd "$1"
      while [ -e go ]; do ln -s sub way.1 && mv -T way.1 way; ln -s "$2" way.2 && mv -T way.2 way; done`;
      const swapper = spawn('/bin/sh', ['-c', script, 'swap', root, outside], { stdio: 'ignore' });
      const ended = new Promise((resolve) => swapper.on('exit', resolve));
      try {
        const { read, list } = toolsOf(root, new Roots([root], verification));
        const seen = { public: 0, refused: 0 };
        const until = performance.now() + 15_000;
        while ((seen.public < 30 || seen.refused < 30) && performance.now() < until) {
          const [text] = await Promise.all([
            read('way/a.txt').then(
              ({ content }) => content,
              (error) => String(error.code ?? error.message),
            ),
            list('way').catch(() => undefined),
          ]);
          expect(text).not.toContain(SECRET);
          if (text === 'public') seen.public++;
          if (text === 'PATH_NOT_ALLOWED') seen.refused++;
        }
        expect(seen.public).toBeGreaterThan(0);
        expect(seen.refused).toBeGreaterThan(0);
      } finally {
        rmSync(join(root, 'go'));
        await ended;
      }
    },
  );
});
