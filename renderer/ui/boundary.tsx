import { Component, type ReactNode } from 'react';

interface BoundaryProps {
  readonly children: ReactNode;
  /** Returns what to show for an error; false shows its name and message. */
  readonly onFailure?: (failure: Error) => ReactNode;
}

/** Contains an error to one page and shows it there. */
export class Boundary extends Component<BoundaryProps, { readonly failure: Error | null }> {
  override state = { failure: null as Error | null };

  static getDerivedStateFromError(failure: Error) {
    return { failure };
  }

  override render() {
    const { failure } = this.state;
    if (failure === null) return this.props.children;
    const shown = this.props.onFailure?.(failure) ?? false;
    if (shown !== false) return shown;
    return (
      <div className="page" role="alert">
        <h1>{failure.name}</h1>
        <pre>{failure.message}</pre>
      </div>
    );
  }
}
