import { useEffect, useRef, useState } from 'preact/hooks';
import { route, setQuery } from './route.ts';

/** A place that is dragged about is written when it rests. */
const REST_MS = 300;

/**
 * A state that is also kept in the address, as a list of numbers. Undefined is the initial state. It may change with
 * every frame; the address follows, and sets the state when somebody opens another one.
 */
export function useAddressedNumbers(
  name: string,
  count: number,
): [value: readonly number[] | undefined, set: (value: readonly number[] | undefined) => void] {
  const text = route.value.query[name];
  const [value, setValue] = useState(() => numbersOf(text, count));
  const written = useRef(text);
  useEffect(() => {
    if (text === written.current) return;
    written.current = text;
    setValue(numbersOf(text, count));
  }, [text]);
  useEffect(() => {
    const timer = setTimeout(() => {
      const next = value?.map((one) => Number(one.toPrecision(5))).join(',');
      if (next === written.current) return;
      written.current = next;
      setQuery({ [name]: next });
    }, REST_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return [value, setValue];
}

function numbersOf(text: string | undefined, count: number): readonly number[] | undefined {
  const numbers = text?.split(',').map(Number);
  return numbers?.length === count && numbers.every(Number.isFinite) ? numbers : undefined;
}
