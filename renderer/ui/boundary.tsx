import { Component, type ReactNode } from 'react';

interface BoundaryProps {
  readonly children: ReactNode;
  /** What to show for a failure; false for its name and message. */
  readonly onFailure?: (failure: Error) => ReactNode;
}

/** A page that breaks says so, and takes no other one along. */
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
