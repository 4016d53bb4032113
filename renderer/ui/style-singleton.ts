/**
 * Replaces the package `react-style-singleton` in the build. That package creates style elements, which the Content-Security-Policy forbids
 * (style-src 'self'). Constructed style sheets are allowed and cannot come from injected markup.
 */
import { useEffect } from 'react';

interface Styles {
  readonly styles: string;
}

/** A component that adds its styles while it is mounted. Several instances share the styles of the first. */
export function styleSingleton() {
  let users = 0;
  const sheet = new CSSStyleSheet();
  const add = (styles: string): (() => void) => {
    if (users === 0) {
      sheet.replaceSync(styles);
      document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    }
    users += 1;
    return () => {
      users -= 1;
      if (users === 0) document.adoptedStyleSheets = document.adoptedStyleSheets.filter(one => one !== sheet);
    };
  };
  return function StyleSheet({ styles }: Styles) {
    useEffect(() => add(styles), [styles]);
    return null;
  };
}
