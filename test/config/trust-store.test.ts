import { chmodSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { TrustStore } from '../../src/config/trust-store.ts';
import { userFolder } from '../../src/config/user-folder.ts';
import { codeOf, thrownBy } from '../engine/support/errors.ts';
import { folderWith } from './support/folder.ts';

const FILES = { hash: 'h1', files: { 'volley.toml': 'f1' } };

function storeIn(home: string) {
  const env = { XDG_CONFIG_HOME: home };
  return { folder: join(home, 'volley', 'trust'), store: new TrustStore(env) };
}

function setUp() {
  const workspace = folderWith({ 'volley.toml': '' });
  return { workspace, ...storeIn(folderWith()) };
}

describe('the approvals of a user', () => {
  it('are none at first, and what was approved is found by the real path of the folder', () => {
    const { store, workspace } = setUp();
    expect(store.approval(workspace)).toBeUndefined();
    store.approve(workspace, FILES);
    const link = join(folderWith(), 'link');
    symlinkSync(workspace, link);
    expect(store.approval(link)).toMatchObject({ ...FILES, workspace });
    expect(store.list().map((approval) => approval.workspace)).toEqual([workspace]);
  });

  it('lie in a folder and in files that nobody else may read', () => {
    const { store, workspace, folder } = setUp();
    store.approve(workspace, FILES);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    const names = readdirSync(folder);
    expect(names).toHaveLength(1);
    expect(statSync(join(folder, names[0]!)).mode & 0o777).toBe(0o600);
  });

  it('hold features apart from their folder, and revoking the folder takes back both', () => {
    const { store, workspace } = setUp();
    store.approveFeature(workspace, 'login', 'h2');
    expect(store.featureHash(workspace, 'login')).toBe('h2');
    expect(store.featureHash(workspace, 'logout')).toBeUndefined();
    expect(store.approval(workspace)).toBeUndefined();
    store.approve(workspace, FILES);
    expect(store.revoke(workspace)).toBe(true);
    expect(store.revoke(workspace)).toBe(false);
    expect(store.featureHash(workspace, 'login')).toBeUndefined();
    expect(store.approval(workspace)).toBeUndefined();
  });

  it('are not believed where others may write to them', () => {
    for (const part of ['..', '.', 'file']) {
      const { store, workspace, folder } = setUp();
      store.approve(workspace, FILES);
      const path = part === 'file' ? join(folder, readdirSync(folder)[0]!) : join(folder, part);
      chmodSync(path, 0o722);
      expect(codeOf(thrownBy(() => store.approval(workspace)))).toBe('TRUST_UNREADABLE');
    }
  });

  it('are an error where they are broken or were made for another folder, and can be given anew', () => {
    const { store, workspace, folder } = setUp();
    store.approve(workspace, FILES);
    const file = join(folder, readdirSync(folder)[0]!);
    const ofOther = { ...store.approval(workspace), workspace: '/elsewhere' };
    for (const text of ['', '{}', '[]', '{"workspace":1}', JSON.stringify(ofOther)]) {
      writeFileSync(file, text);
      expect(codeOf(thrownBy(() => store.approval(workspace)))).toBe('TRUST_UNREADABLE');
      store.approve(workspace, FILES);
      expect(store.approval(workspace)).toMatchObject(FILES);
    }
  });

  it('of a broken file can be revoked', () => {
    const { store, workspace, folder } = setUp();
    store.approve(workspace, FILES);
    writeFileSync(join(folder, readdirSync(folder)[0]!), '');
    expect(store.revoke(workspace)).toBe(true);
    expect(store.approval(workspace)).toBeUndefined();
  });

  it('are never looked for below a relative path', () => {
    expect(userFolder({ XDG_CONFIG_HOME: 'x', HOME: '/home/me' })).toBe('/home/me/.config/volley');
  });
});
