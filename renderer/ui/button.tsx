import type { ComponentProps } from 'react';

interface ButtonProps extends ComponentProps<'button'> {
  /** `danger`: something is lost by it. */
  readonly kind?: 'plain' | 'primary' | 'danger' | 'quiet';
}

export function Button({ kind = 'plain', type = 'button', className = '', ...rest }: ButtonProps) {
  return <button type={type} className={`button button-${kind} ${className}`} {...rest} />;
}
