import { defineConfig } from "vite";

// The host page shares React and Chakra as globals, so that theme and dark mode are Airflow's own.
const shared = {
  react: "React",
  "react-dom": "ReactDOM",
  "react/jsx-runtime": "ReactJSXRuntime",
  "react-router-dom": "ReactRouterDOM",
  "@chakra-ui/react": "ChakraUI",
};

export default defineConfig({
  define: { "process.env.NODE_ENV": JSON.stringify("production") },
  build: {
    outDir: "../static",
    emptyOutDir: true,
    target: "es2022",
    lib: { entry: "src/main.tsx", formats: ["umd"], name: "AirflowPlugin", fileName: () => "board.js" },
    rollupOptions: { external: Object.keys(shared), output: { globals: shared } },
  },
});
