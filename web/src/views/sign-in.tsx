import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { keyIn, signIn } from '../api/session.ts';

/** The session is over, or there never was one. */
export function SignIn({ why }: { why: string }): JSX.Element {
  const [text, setText] = useState('');
  const submit = (event: Event) => {
    event.preventDefault();
    const key = keyIn(text);
    if (key !== undefined) void signIn(key);
  };
  return (
    <main class="sign-in" id="main">
      <img src="./icon.svg" alt="" width="40" height="40" />
      <h1 class="page-title">Open the address with its key</h1>
      <p>
        <code>volley serve</code> prints an address that ends in <code>#key=…</code>. Each key works once;{' '}
        <code>volley dashboard</code> prints an address with a new one.
      </p>
      {why !== '' && (
        <p class="problem" role="alert">
          {why}
        </p>
      )}
      <form onSubmit={submit}>
        <label for="key">Address or key</label>
        <div class="field-row">
          <input
            id="key"
            class="input"
            type="password"
            autocomplete="off"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <button type="submit" class="button is-main">
            Sign in
          </button>
        </div>
      </form>
    </main>
  );
}
