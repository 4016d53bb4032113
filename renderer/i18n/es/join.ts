import type { JoinKey } from '../en/join.ts';

export const join: Readonly<Record<JoinKey, string>> = {
  'effects.title': 'Este comando:',
  'effects.download':
    'Descarga el worker de {host}: {size} para {systems}. Otros sistemas necesitan Node 22.19 y descargan {small}.',
  'effects.download.one': 'Descarga el worker de {host}: {small}. La máquina necesita Node 22.19.',
  'effects.pin': 'Solo acepta el servidor que tiene esta clave, y comprueba el SHA-256 del worker.',
  'effects.certificate': 'Comprueba el certificado del servidor y el SHA-256 del worker.',
  'effects.hash':
    'Comprueba el SHA-256 del script y del worker. La conexión no está cifrada. Con TLS (Ajustes, Red) el comando es mucho más corto.',
  'effects.put': 'Guarda el worker en ~/.local/bin. No necesita root.',
  'effects.put.service':
    'Guarda el worker en /usr/local/bin con sudo, o en ~/.local/bin solo para su cuenta.',
  'effects.start': 'Inicia el worker en esta terminal. Ctrl+C lo detiene.',
  'effects.start.service':
    'Instala un servicio que inicia el worker ahora y tras cada reinicio de la máquina.',
  'effects.installed': 'Inicia el worker que ya está instalado allí. No descarga nada.',
  'effects.installed.service':
    'Instala un servicio para el worker que ya está instalado allí. No descarga nada.',
  'windows.tab': 'Windows',
  'windows.start': 'En esta ventana de PowerShell, hasta que la cierre o pulse Ctrl+C:',
  'windows.service': 'Como tarea que se inicia cada vez que usted inicia sesión:',
  'windows.run':
    'Ejecute una de estas líneas en PowerShell. Descarga el worker y solo lo ejecuta si su SHA-256 es el de la línea.',
  'windows.node':
    'Este servidor no tiene un ejecutable para Windows, así que la máquina necesita Node 22.19 o posterior. Para crearlo, ejecute «npm run build:worker -- --all-platforms» en el código fuente del servidor.',
  'windows.none':
    'Este servidor no tiene el programa del worker. Para crearlo, ejecute «npm run build:worker -- --all-platforms» en el código fuente del servidor.',
  'phone.open': 'Seguirlo en un teléfono',
  'phone.explain': 'Escanee un código QR para abrir este panel en un teléfono de la misma red.',
  'phone.private':
    'Ningún otro dispositivo puede acceder todavía a este servidor. Compártalo en Ajustes, Red.',
  'phone.network': 'Abrir los ajustes de red',
  'phone.address': 'Dirección para el teléfono',
  'phone.show': 'Mostrar código QR',
  'phone.again': 'Nuevo código QR',
  'phone.code': 'Código QR con un enlace de inicio de sesión para {host}',
  'phone.code.plain': 'Código QR con la dirección {url}',
  'phone.until':
    'Funciona una vez, hasta las {time}. Inicia la sesión de {user} en el teléfono, con los mismos permisos. No se lo muestre a nadie más.',
  'phone.over': 'Caducó a las {time}.',
  'phone.token': 'El teléfono pide después un token.',
  'phone.warning':
    'El navegador del teléfono avisa del certificado. Continúe solo si muestra esta huella (SHA-256):',
  'phone.copy': 'Copiar enlace de inicio de sesión',
};
